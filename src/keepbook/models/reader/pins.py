"""The checksums of the reader's files, written by training."""

SHA256 = {
    "bars.json": "30a6ce5d77ced897332d0f3e3441091dafc1f5bd3e5ba4e2287559c330317647",
    "encoder.npz": "4e1eae110e752980f9ac2178dcd6a832cb5ef4861e26ce73d1f70e0ddb5c0e5a",
    "linear.bin": "c352d510dd07b3e9347a599fc8c8fd781a768e354b377ec9a15e6a027665c308",
    "moves.bin": "d9004a98fdeb413e7659f5efb121cc9e14adcab30cdbd57bbac8a54c6f27cdf3",
    "moves.npz": "34e6289b1c9138df8b40a933d48acf5552dd6cff632b60b677e90dbbca3b840c",
    "pairs.npz": "6c7425b6f68edd0ada7baec5c4ce55b9b4e1abb9eba848535b0f25795405c26f",
}
