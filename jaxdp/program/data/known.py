"""What is known of datasets by their names: classes, and constants that scale them."""

from jaxdp.data import Codec

_DIGITS = tuple("0123456789")
_CIFAR10 = "airplane automobile bird cat deer dog frog horse ship truck"
_CIFAR100 = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly
camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile
cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp
lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree
orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum
rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider
squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor train
trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
_FASHION = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
CLASS_NAMES: dict[str, tuple[str, ...]] = {
    "digits": _DIGITS,
    "mnist": _DIGITS,
    "svhn_cropped": _DIGITS,
    "fashion_mnist": tuple(_FASHION.split(",")),
    "cifar10": tuple(_CIFAR10.split()),
    "cifar100": tuple(_CIFAR100.split()),
}
"""Class names of the datasets known by name, used where the source gives none."""


FLOATS = Codec(shift=0.0, scale=1.0, low=-1.0, high=1.0, dtype="float32")
# White strokes on black: with the background at 0 the kernel sees the strokes alone, which
# distils far better than -1 to 1.
_STROKES = Codec(shift=0.0, scale=80.0, low=0.0, high=255.0)
_PHOTOS = Codec(shift=120.0, scale=64.0, low=0.0, high=255.0)
CODECS = {
    "digits": Codec(shift=0.0, scale=5.0, low=0.0, high=16.0),
    "mnist": _STROKES,
    "fashion_mnist": _STROKES,
    "cifar10": _PHOTOS,
    "cifar100": _PHOTOS,
    "svhn_cropped": _PHOTOS,
}
"""Datasets of bytes that do better with other constants than most; all are round numbers."""


def whole_numbers(dtype: str, low: float, high: float) -> Codec:
    """Return constants that take values from what a type declares to [-1, 1]."""
    middle, half = (low + high) / 2, (high - low) / 2
    return Codec(low=float(low), high=float(high), shift=middle, scale=half, dtype=dtype)
