"""The checksums of the reader's files, written by training."""

SHA256 = {
    "bars.json": "23b9a8797322d2eca01f6946b17f798edc2ea67d0ee13244fe5ef879df89d899",
    "encoder.npz": "01ecd66ad7ab4681e286c7bfbf55e8f1edf1e301c844c0e6dd5d8740e9ac9547",
    "linear.bin": "d34fb04074ab83ff70dcd671bf48e4a2f9b8d5e0836ba7ea08467901eff1082a",
    "moves.bin": "d9004a98fdeb413e7659f5efb121cc9e14adcab30cdbd57bbac8a54c6f27cdf3",
    "moves.npz": "34e6289b1c9138df8b40a933d48acf5552dd6cff632b60b677e90dbbca3b840c",
}
