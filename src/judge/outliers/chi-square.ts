/** The natural logarithm of the gamma function (Lanczos' series). */
function logGamma(x: number): number {
  const coefficients = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  const y = x - 1;
  const t = y + 7.5;
  const series = coefficients.reduce((sum, c, i) => sum + c / (y + i + 1), 0.9999999999998099);
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(series);
}

/** The share of the chi-square distribution that lies below x. */
export function chiSquareShare(x: number, freedom: number): number {
  if (x <= 0) return 0;
  if (x === Number.POSITIVE_INFINITY) return 1;
  const a = freedom / 2;
  const y = x / 2;
  const front = Math.exp(a * Math.log(y) - y - logGamma(a));
  if (y < a + 1) {
    // the series of the lower incomplete gamma function
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n < 1000 && term > sum * 1e-17; n++) {
      term *= y / (a + n);
      sum += term;
    }
    return front * sum;
  }
  // the continued fraction of the upper one (Lentz)
  let b = y + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let fraction = d;
  for (let n = 1; n < 1000; n++) {
    const step = -n * (n - a);
    b += 2;
    d = 1 / (b + step * d);
    c = b + step / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return 1 - front * fraction;
}

/** The value below which this share of the chi-square distribution lies. */
export function chiSquareQuantile(share: number, freedom: number): number {
  let low = 0;
  let high = freedom + 10;
  while (chiSquareShare(high, freedom) < share) high *= 2;
  for (let i = 0; i < 200 && high - low > 1e-13 * high; i++) {
    const middle = (low + high) / 2;
    if (chiSquareShare(middle, freedom) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
