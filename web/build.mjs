// Bundles the page into one HTML file: node build.mjs [OUT.html [OUT.cc]]
// With OUT.cc it is also written as a C++ source that defines plimsoll::report::report_page().
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync, transformSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [out = "report_page.html", source] = process.argv.slice(2);

const script = buildSync({
  entryPoints: [join(here, "src/main.ts")],
  absWorkingDir: process.cwd(),
  nodePaths: [join(process.cwd(), "node_modules")],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2022",
  charset: "ascii",
}).outputFiles[0].text;

const require = createRequire(join(process.cwd(), "package.json"));
const plotStyle = readFileSync(require.resolve("uplot/dist/uPlot.min.css"), "utf8");
const style = transformSync(plotStyle + readFileSync(join(here, "src/style.css"), "utf8"), { loader: "css", minify: true }).code;

// A function as replacement: "$" in the bundle is no pattern.
const page = readFileSync(join(here, "src/page.html"), "utf8")
  .replace("/*STYLE*/", () => style)
  .replace("/*SCRIPT*/", () => script.replaceAll("</script", "<\\/script"));
writeFileSync(out, page);

if (source) {
  const bytes = Buffer.from(page, "utf8");
  const rows = [];
  for (let i = 0; i < bytes.length; i += 32) rows.push([...bytes.subarray(i, i + 32)].join(","));
  writeFileSync(
    source,
    `// Made by web/build.mjs.\n#include "report/report_page.h"\n\nnamespace plimsoll::report {\nnamespace {\n` +
      `constexpr unsigned char kPage[] = {\n${rows.join(",\n")}};\n}  // namespace\n\n` +
      `std::string_view report_page() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }\n\n` +
      `}  // namespace plimsoll::report\n`,
  );
}
