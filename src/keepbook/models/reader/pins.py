"""The checksums of the reader's files, written by training."""

SHA256 = {
    "bars.json": "ba34d3d05e5dd246eddcdca35e2d889591f76d09f34da224aad700a56061d840",
    "encoder.npz": "34265ca190d9b0ff38b941abe79ab6029bb7c0b02d956f2487d9eecc184422b9",
    "linear.bin": "e35e2a758b6462dab5b6350a15f9b5055c63a0a39b29a9b996741f448662d38f",
}
