"""What is known of a run: gathered from registry and snapshot, shown as text, JSON and one HTML file."""
