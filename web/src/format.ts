// Figures as a person reads them: three significant digits, one unit.

function scaled(value: number, units: [string, number][]): string {
  let best = units[0];
  for (const unit of units) if (Math.abs(value) >= unit[1] * 0.9995) best = unit;
  const x = value / best[1];
  const decimals = Math.abs(x) >= 99.95 || x === 0 ? 0 : Math.abs(x) >= 9.995 ? 1 : 2;
  return `${x.toFixed(decimals)} ${best[0]}`;
}

export const duration = (s: number) => s === 0 ? "0 s" : scaled(s, [["ns", 1e-9], ["us", 1e-6], ["ms", 1e-3], ["s", 1]]);
export const size = (b: number) => scaled(b, [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]]);
export const memory = (b: number) =>
  scaled(b, [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]]);
export const rate = (r: number) => `${Math.abs(r) < 999.5 ? Number(r.toPrecision(3)) : r.toFixed(0)}/s`;
export const percent = (share: number) => `${Number((share * 100).toPrecision(3))}%`;
export const plain = (x: number) => String(Number(x.toPrecision(6)));
export const tenDigits = (x: number) => String(Number(x.toPrecision(10)));
