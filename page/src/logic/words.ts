/** Numbers and counts as people read them. */

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

/** 5 000 000, with narrow no-break spaces. */
export function whole(n: number): string {
  return WHOLE.format(n).replaceAll(",", "\u202f");
}

/** "1 answer", "2 answers". */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${whole(n)} ${n === 1 ? one : many}`;
}

/** About three significant digits. */
export function short(x: number): string {
  if (!Number.isFinite(x)) return "–";
  if (x !== 0 && (Math.abs(x) < 0.001 || Math.abs(x) >= 1e6)) return x.toExponential(1);
  return String(Number(x.toPrecision(3))).replace("-", "−");
}

export function fixed(x: number | null | undefined, digits = 3): string {
  return x === null || x === undefined || !Number.isFinite(x) ? "–" : x.toFixed(digits);
}

export function percent(x: number): string {
  return `${Math.round(100 * x)}%`;
}
