"""The life of a run, the same for command line and Airflow."""
