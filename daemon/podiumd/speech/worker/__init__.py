"""The process that hears: the only place that imports faster-whisper, PyAV and NumPy.

The extra ``podium[voice]`` brings them; nothing outside this package needs them.
"""
