from . import (
    accounting,
    calibration,
    certificates,
    chacha,
    class_sums,
    clipping,
    contributions,
    dataset_ledger,
    dp_sgd,
    ledger,
    ledger_file,
    limits,
    mechanism,
    ordered_counts,
    profiles,
    promises,
    relations,
    releases,
    sampling,
    second_moments,
    stored_certificates,
    unknown_texts,
    wording,
)
from .accounting import (
    ACCOUNTANTS,
    analytic_gaussian_stddev,
    gaussian_epsilon,
)
from .calibration import UnreachableEpsilonError, calibrate
from .certificates import Terms, certify
from .class_sums import LabelledChunks, labelled_chunks, release_sums
from .clipping import clip, global_norm, norms_from_above, sum_clipped_grads
from .contributions import bounded
from .dataset_ledger import BudgetExceededError, DatasetLedger, ReleasedElsewhereError
from .dp_sgd import ClippedSum, accounted_steps, noisy_mean
from .ledger import Ledger, joint_epsilon, joint_profile
from .ledger_file import TotalBudget
from .mechanism import SubsampledGaussian, add_gaussian_noise, private_key
from .profiles import Profile
from .promises import Certificate
from .releases import GaussianRelease, joint_noise_multiplier
from .sampling import PoissonSample, poisson_sample, sum_over_chunks
from .stored_certificates import recertified

__all__ = [
    "ACCOUNTANTS",
    "BudgetExceededError",
    "Certificate",
    "ClippedSum",
    "DatasetLedger",
    "GaussianRelease",
    "LabelledChunks",
    "Ledger",
    "PoissonSample",
    "Profile",
    "ReleasedElsewhereError",
    "SubsampledGaussian",
    "Terms",
    "TotalBudget",
    "UnreachableEpsilonError",
    "accounted_steps",
    "accounting",
    "add_gaussian_noise",
    "analytic_gaussian_stddev",
    "bounded",
    "calibrate",
    "calibration",
    "certificates",
    "certify",
    "chacha",
    "class_sums",
    "clip",
    "clipping",
    "contributions",
    "dataset_ledger",
    "dp_sgd",
    "gaussian_epsilon",
    "global_norm",
    "joint_epsilon",
    "joint_noise_multiplier",
    "joint_profile",
    "labelled_chunks",
    "ledger",
    "ledger_file",
    "limits",
    "mechanism",
    "noisy_mean",
    "norms_from_above",
    "ordered_counts",
    "poisson_sample",
    "private_key",
    "profiles",
    "promises",
    "recertified",
    "relations",
    "release_sums",
    "releases",
    "sampling",
    "second_moments",
    "stored_certificates",
    "sum_clipped_grads",
    "sum_over_chunks",
    "unknown_texts",
    "wording",
]
