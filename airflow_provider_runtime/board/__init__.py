"""The board: an API and a page in Airflow for the people who close periods. Only the API server loads it."""
