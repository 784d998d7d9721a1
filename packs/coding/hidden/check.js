const { spawnSync } = require("node:child_process");

for (const [numbers, median] of [["3 1 2", 2], ["4 1 3 2", 2.5], ["7", 7]]) {
  const done = spawnSync(process.execPath, ["median.js", ...numbers.split(" ")], { encoding: "utf8" });
  if (done.status !== 0 || done.stdout.trim() !== String(median)) {
    console.error(`median of ${numbers}: expected ${median}, came ${JSON.stringify(done.stdout.trim())}`);
    process.exit(1);
  }
}
