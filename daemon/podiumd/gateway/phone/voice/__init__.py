"""Speech of phones: their utterances, and words for them to speak."""
