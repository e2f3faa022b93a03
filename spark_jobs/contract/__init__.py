"""What planning and job agree on; needs the standard library only."""
