"""Differentially private dataset distillation and generation, as pure jit-able functions.

    spec = jaxdp.Spec.images("scans", x.shape, class_names=["no", "yes"], low=0, high=255)
    settings = jaxdp.methods.teacher.Settings(ipc=10, eps=1.0)
    made, certificate = jaxdp.run(jaxdp.methods.teacher, settings, spec, jaxdp.Private(x, y))

Where to go:

    jaxdp.run         runs a method on private data; gives what it made, and a certificate
    jaxdp.load        opens a folder that a run or `made.save` has written: examples, predictions
    jaxdp.Spec        public facts about the data; jaxdp.Private holds the data themselves
    jaxdp.methods     what turns private data into something to release: dp_kip, teacher, dp_ntk,
                      marginals
    jaxdp.privacy     noise, sampling, clipping, accounting, ledgers and certificates
    jaxdp.kernels     kernels, and kernel ridge regression with them
    jaxdp.features    public feature maps: scattering, Fourier, Hermite, gradients of networks
    jaxdp.networks    networks in flax: classifiers, generators, and their per-example gradients
    jaxdp.images      views, smoothing and augmentation of images
    jaxdp.tables      schemas of tables: which columns there are, what may stand in them
    jaxdp.bought      facts of a schema that nobody knows, bought with a part of epsilon
    jaxdp.saved       what `jaxdp.load` gives
    jaxdp.data        what is public about data, what is private
    jaxdp.numerics    64-bit mode
    jaxdp.devices     rows shared out over devices
    jaxdp.large_arrays  arrays in a file where memory is short
    jaxdp.processes   processes, on one host or several, that share a run

A setting that does not do raises a jaxdp.SettingsError, which says what to do. What may be worth
less than it looks warns with a jaxdp.JaxdpWarning.
Each of them gives its names as attributes, and is imported when it is first used. The command line,
which also writes files and reports, is `jaxdp run teacher --help` and its like.
"""

import sys

import lazy_loader

if sys.platform == "win32":
    raise ImportError("jaxdp locks files as Linux and macOS do; on Windows install it in WSL")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
