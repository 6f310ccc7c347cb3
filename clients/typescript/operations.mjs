// Writes src/operations.ts: of each operation the verb and the path, which types alone do not tell a running program.
import { readFileSync, writeFileSync } from "node:fs";

const document = JSON.parse(readFileSync("../../build/openapi.json", "utf8"));
const lines = [];
for (const [path, verbs] of Object.entries(document.paths)) {
  for (const [verb, operation] of Object.entries(verbs)) {
    lines.push(`  ${operation.operationId}: ["${verb.toUpperCase()}", "${path}"],`);
  }
}
const head = "// Made by operations.mjs from the server's document.\nexport const OPERATIONS = {\n";
writeFileSync("src/operations.ts", `${head}${lines.sort().join("\n")}\n} as const;\n`);
