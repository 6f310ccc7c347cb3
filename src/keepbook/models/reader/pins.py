"""The checksums of the reader's files, written by training."""

SHA256 = {
    "bars.json": "645e6e3bab5bc5578857eaa8b6526072ffb4e13f41d5edaf81a0754b2b3028e4",
    "encoder.npz": "be187ad66d5dc0d36aad06f69a445be1614ce7025bba7d71ba8bd73c58a1ced8",
    "linear.bin": "e35e2a758b6462dab5b6350a15f9b5055c63a0a39b29a9b996741f448662d38f",
    "moves.bin": "de92703554646f8c8087b3882aa4eca32006245446d07e28833865e444263791",
    "moves.npz": "25ec951b7c75b79235e49a8bba14f7b4dd36bca4c23457e3d1625ee2912bdd1c",
}
