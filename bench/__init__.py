"""How long Meridian takes, beside what it stands on: always a ratio of two things timed in turns. `README.md` says how."""
