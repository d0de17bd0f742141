/** From this exponent on Go writes one. */
const largest = 6;

/** A float as Go's shortest "%g" prints it: 0.1, 1e+06, 1.5e-07. */
export function formatFloat(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  if (!Number.isFinite(value)) return value > 0 ? ".inf" : "-.inf";
  const [, sign, digits, exponentText] = /^(-?)(\d(?:\.\d+)?)e([-+]\d+)$/.exec(value.toExponential()) as unknown as [
    string,
    string,
    string,
    string,
  ];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < largest) return plain(sign, digits.replace(".", ""), exponent);
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${Object.is(value, -0) ? "-" : sign}${digits}e${exponent < 0 ? "-" : "+"}${size}`;
}

function plain(sign: string, digits: string, exponent: number): string {
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, "0");
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}
