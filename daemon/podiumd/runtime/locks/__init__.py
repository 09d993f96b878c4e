"""The holders of sessions and working trees."""
