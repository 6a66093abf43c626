"""Datasets by name: npz files, folders of images, tfds and the bundled digits."""
