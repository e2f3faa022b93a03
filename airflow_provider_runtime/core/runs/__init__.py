"""The life of a run, for command line and Airflow alike: begin an attempt, keep it alive, finish or fail it."""
