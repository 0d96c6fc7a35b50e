#!/usr/bin/env python3
"""Writes testdata/model/positions.txt: what PyTorch's bicubic interpolation makes of small grids.

Usage: make_position_golden.py > testdata/model/positions.txt. Needs python3-torch. Each case is three lines:
"FROM TO WIDTH", the values before, the values after; row by row, WIDTH values a place.
"""

import torch

torch.manual_seed(1)
torch.set_num_threads(1)
for source, target, width in ((4, 7, 2), (7, 4, 2), (2, 5, 1), (1, 3, 2), (5, 5, 1), (3, 2, 3)):
    grid = torch.randn(source, source, width)
    resized = torch.nn.functional.interpolate(grid.permute(2, 0, 1)[None], size=(target, target), mode="bicubic",
                                              align_corners=False)[0].permute(1, 2, 0)
    print(source, target, width)
    print(*(f"{value:.9g}" for value in grid.flatten().tolist()))
    print(*(f"{value:.9g}" for value in resized.flatten().tolist()))
