/** Quantities as the rules of the server ask for them: undefined for what is none. */
import { quantityOf } from '../../../apimachinery/quantity.ts';

/** In units of 10^-9, the smallest unit. */
export const quantityNanos = (text: string): bigint | undefined =>
  quantityOf(text)?.scaledValue(-9);

/** As the API server writes it: `1` for `1000m`, `1Gi` for `1024Mi`. */
export const canonicalQuantity = (text: string): string | undefined => quantityOf(text)?.toString();
