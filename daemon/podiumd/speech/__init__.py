"""Speech becomes text on this machine: utterances, engines, models. Voice is an optional extra."""
