"""The tidying, bounding and measuring beside the runs."""
