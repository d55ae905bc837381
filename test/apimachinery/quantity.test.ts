/** Quantities as apimachinery has them: the vectors are its answers. */
import {
  compareQuantity,
  newMilliQuantity,
  newQuantity,
  parseQuantity,
  type Quantity,
} from 'capstan/apimachinery';
import { describe, expect, it } from 'vitest';
import { vectors } from '../helpers/apimachinery-vectors.ts';

interface Answer {
  error?: string;
  text: string;
  format: string;
  sign: number;
  value: string;
  milli: string;
  number: number;
  up: string;
  exact: boolean;
  negative: string;
}

/** What has no suffix in Go, which prints 1000E as 1. */
const isTooLarge = (quantity: Quantity): boolean =>
  quantity.format !== 'DecimalExponent' && Math.abs(quantity.toNumber()) >= 1e21;

describe('a quantity', () => {
  const answers = vectors<{ a: string }, Answer>('quantities');

  it('is read, written and rounded as by apimachinery', () => {
    let read = 0;
    for (const [{ a }, answer] of answers) {
      if (answer.error !== undefined) {
        expect(() => parseQuantity(a), a).toThrow('expected a quantity');
        continue;
      }
      const quantity = parseQuantity(a);
      if (isTooLarge(quantity)) continue;
      const { text, format, sign, number, up, exact, negative } = answer;
      const rounded = quantity.roundUp(0);
      expect(
        {
          text: String(quantity),
          format: quantity.format,
          sign: quantity.sign(),
          number: quantity.toNumber(),
          up: String(rounded),
          exact: rounded.equal(quantity),
          negative: String(quantity.neg()),
        },
        a,
      ).toEqual({ text, format, sign, number, up, exact, negative });
      read++;
    }
    expect(read).toBeGreaterThan(1000);
  });

  it('has the whole numbers of apimachinery, where those fit into 64 bits', () => {
    let compared = 0;
    for (const [{ a }, { error, value, milli, sign }] of answers) {
      // Go rounds negative numbers up in one of its two representations, and wraps around.
      if (error !== undefined || sign < 0) continue;
      const quantity = parseQuantity(a);
      if (quantity.toNumber() < 2 ** 63 && quantity.value() < 2n ** 62n) {
        expect(quantity.value(), a).toBe(BigInt(value));
        compared++;
      }
      if (quantity.milliValue() < 2n ** 62n) expect(quantity.milliValue(), a).toBe(BigInt(milli));
    }
    expect(compared).toBeGreaterThan(800);
  });

  it('is compared, added, subtracted and multiplied as by apimachinery', () => {
    type Pair = { a: string; b: string; by: number };
    type Result = { compared: number; sum: string; difference: string; product: string };
    for (const [{ a, b, by }, answer] of vectors<Pair, Result>('pairs')) {
      const first = parseQuantity(a);
      const results = [first.add(b), first.sub(b), first.mul(by)] as const;
      if ([first, ...results].some(isTooLarge)) continue;
      const [sum, difference, product] = results.map(String);
      expect({ compared: first.cmp(b), sum, difference, product }, `${a} ${b} ${by}`).toEqual(
        answer,
      );
    }
  });

  it('goes into an object as its text, and never changes', () => {
    const quantity = parseQuantity('1');
    quantity.add('1').neg();
    expect(JSON.stringify({ cpu: quantity })).toBe('{"cpu":"1"}');
    expect(String(quantity)).toBe('1');
  });

  it('is made of whole numbers and thousandths', () => {
    expect(String(newQuantity(1024 ** 3, 'BinarySI'))).toBe('1Gi');
    expect(String(newQuantity(10n ** 30n))).toBe('1000000000000E');
    expect(String(newMilliQuantity(2500))).toBe('2500m');
    expect(newQuantity(2n ** 70n).value()).toBe(2n ** 70n);
  });

  it('may be a number, or a Quantity of another copy of the package', () => {
    class Quantity {
      scaledValue(): bigint {
        return 2n;
      }
      toString(): string {
        return '2';
      }
    }
    expect(String(parseQuantity(1.5))).toBe('1500m');
    expect(parseQuantity('2').equal(new Quantity() as never)).toBe(true);
  });

  it('sorts', () => {
    expect(['1Gi', '1G', '1000m', '1'].sort(compareQuantity)).toEqual(['1000m', '1', '1G', '1Gi']);
  });

  it.each([
    ['text', () => parseQuantity('much'), '"quantity" expected a quantity such as'],
    ['object', () => parseQuantity({} as never), 'got an object'],
    ['exponent', () => parseQuantity('1e1000'), 'expected a quantity'],
    ['number', () => parseQuantity(Number.NaN), 'got NaN'],
    ['factor', () => parseQuantity('1').mul(0.5), '"factor" expected an integer'],
    ['value', () => newQuantity(2 ** 60), '"value" expected an integer, beyond 2^53 as a BigInt'],
    ['format', () => newQuantity(1, 'SI' as never), '"format" expected "DecimalSI", "BinarySI"'],
    ['scale', () => parseQuantity('1').roundUp(-10), '"scale" expected an integer'],
    ['scale above', () => parseQuantity('1').scaledValue(19), 'an integer from -9 to 18'],
  ])('refuses a wrong %s', (_, call, message) => {
    expect(call).toThrow(message);
  });
});
