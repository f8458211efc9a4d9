/** Student's t: how far the mean of few values may lie from the truth. */

/** The share of the distribution that lies within ±t (Abramowitz and Stegun 26.7.3 and 26.7.4, exact for whole freedoms). */
function shareWithin(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = freedom % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = freedom === 1 ? 0 : term;
  for (let k = isOdd ? 3 : 2; k <= freedom - 2; k += 2) {
    term *= ((k - 1) / k) * cosine * cosine;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}

/** From this freedom on it is the normal distribution to three digits: more terms say no more. */
const MANY = 1000;

/** How many standard errors hold this share of the distribution: 12.7 for 0.95 and one degree of freedom, 1.96 for many. */
export function studentWidth(share: number, freedom: number): number {
  const whole = Math.min(MANY, Math.max(1, Math.floor(freedom)));
  let [low, high] = [0, 1];
  while (shareWithin(high, whole) < share) high *= 2;
  for (let i = 0; i < 100 && high - low > 1e-12 * high; i++) {
    const middle = (low + high) / 2;
    if (shareWithin(middle, whole) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
