"""Whether what a run would read is there, asked without Spark."""

from airflow_provider_runtime.core.presence.look import Presence, Presences, look_for_data

__all__ = ["Presence", "Presences", "look_for_data"]
