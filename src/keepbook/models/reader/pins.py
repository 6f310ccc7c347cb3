"""The checksums of the reader's files, written by training."""

SHA256 = {
    "bars.json": "eb18d3d608cda1428e1b631f84f7e842dd4030436aaa8930d255006915f10810",
    "encoder.npz": "34265ca190d9b0ff38b941abe79ab6029bb7c0b02d956f2487d9eecc184422b9",
    "encoder.onnx": "53573e229b12035368d18ac9c446cf6ac35db1f1777b9eb309669cd77757e360",
    "linear.bin": "e35e2a758b6462dab5b6350a15f9b5055c63a0a39b29a9b996741f448662d38f",
}
