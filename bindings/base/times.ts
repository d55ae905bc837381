/** Times of day as objects of Kubernetes have them: RFC 3339, in UTC. */

/** metav1.Time: to the second. @param ms milliseconds since 1970 */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** metav1.MicroTime: always six digits. @param micros microseconds since 1970 */
export function formatMicroTime(micros: number): string {
  const whole = Math.floor(micros);
  const rest = ((whole % 1000) + 1000) % 1000;
  return new Date((whole - rest) / 1000)
    .toISOString()
    .replace('Z', `${String(rest).padStart(3, '0')}Z`);
}
