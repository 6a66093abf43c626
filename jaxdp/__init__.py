"""Differentially private dataset distillation and generation, as pure jit-able functions.

Where to go:

    jaxdp.methods     what turns private data into something to release: dp_kip, teacher, dp_ntk
    jaxdp.privacy     noise, sampling, clipping, accounting, ledgers and certificates
    jaxdp.kernels     kernels, and kernel ridge regression with them
    jaxdp.features    public feature maps: scattering, Fourier, Hermite, gradients of networks
    jaxdp.networks    networks in flax: classifiers, generators, and their per-example gradients
    jaxdp.images      views, smoothing and augmentation of images
    jaxdp.numerics    64-bit mode

Each of them gives its names as attributes, and is imported when it is first used. The command line,
which also writes files and reports, is `python -m experiments.dp_kip_teacher --help` and its like.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
