"""What agents say, as values: outcomes, actions, patches, reports."""
