"""Writes tests/sounds/recorded: what transformers' WhisperFeatureExtractor (its path of numpy) makes of tests/sounds/made.py, some
values of each: seconds, bands, then band, column and value.  V/bin/python tests/oracle/sounds.py, where V has transformers and numpy."""

import pathlib
import sys

import numpy as np
from transformers import WhisperFeatureExtractor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "sounds"))
import made

with open(ROOT / "tests" / "sounds" / "recorded", "w") as f:
    for seconds, mels, every in ((1, 80, 37), (1, 128, 61), (30, 80, 1511), (30, 128, 2503)):
        x = np.array(made.samples(seconds * made.RATE), np.float32) / 32768
        y = WhisperFeatureExtractor(feature_size=mels, chunk_length=seconds)._np_extract_fbank_features(x[None], "cpu")[0]
        assert y.shape == (mels, 100 * seconds)
        for at in range(0, y.size, every):
            print(seconds, mels, at // y.shape[1], at % y.shape[1], f"{y.flat[at]:.6f}", file=f)
