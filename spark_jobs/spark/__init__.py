"""What talks to Spark itself: session, JVM, storage."""
