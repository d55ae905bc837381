/**
 * The questions to apimachinery whose answers are kept in vectors/: made from a fixed seed, so that
 * scripts/record-apimachinery.ts writes the same file again.
 */
import { Random } from '../helpers/random.ts';

const EDGES = [
  ...['', '.', '+', '-', 'Ki', 'm', 'e3', 'e-10', 'Ei', 'Pi', 'e', '1e', 'E', '1E', '0E', '0Ei'],
  ...[
    '1.500',
    '1.50',
    '1.5',
    '1.0',
    '1.',
    '.5',
    '00001',
    '+1',
    '+10',
    '-0',
    '-0.1n',
    '0.1n',
    '1000',
  ],
  ...['123Ti', '+123Ti', '+12Ti', '+1Pi', '-1.5Ki', '0.5Ki', '0.0001Ki', '1.0Mi', '1.Mi', '1025Ki'],
  ...['1024', '1024Ki', '1024000Ki', '1e+3', '1E3', '100e3', '1e-9', '1e-10', '-1e-12', '12e-3'],
  ...['8Ei', '7Ei', '-8Ei', '9223372036854775807', '9223372036854775808', '9223372036854775807Ki'],
  ...[
    '0x',
    '1 ',
    ' 1',
    '1k3',
    '1kk',
    '1K',
    '1mi',
    '1e3.5',
    '1,5',
    '1_000',
    '--1',
    'NaN',
    '٣',
    '1\n',
  ],
  ...[
    '1000000000000000000',
    '999999999999999999n',
    '0.0000000001',
    '0.000000000',
    '000',
    '1.999999999999Gi',
  ],
];

/** At most 18 digits and a small exponent, so that the whole number fits into Go's 64 bits. */
function quantityText(random: Random): string {
  const digits = (most: number): string =>
    Array.from({ length: random.int(most + 1) }, () => random.int(10)).join('');
  const number =
    random.pick(['', '', '', '+', '-']) +
    digits(random.pick([3, 3, 8])) +
    (random.chance(0.4) ? `.${digits(random.pick([3, 9, 12]))}` : '') +
    random.pick(['', '', '000', '0']);
  const suffixes = [
    '',
    '',
    'n',
    'u',
    'm',
    'm',
    'k',
    'M',
    'G',
    'T',
    'Ki',
    'Mi',
    'Gi',
    'Ti',
    'Pi',
    'Ei',
  ];
  return number + (random.chance(0.15) ? `e${random.int(12) - 6}` : random.pick(suffixes));
}

function quantities(): object[] {
  const random = new Random(1);
  const made = Array.from({ length: 1500 }, () => quantityText(random));
  return [...EDGES, ...made].map((text) => ({ ask: 'quantity', a: text }));
}

function pairs(): object[] {
  const random = new Random(2);
  const some = (): string => {
    for (;;) {
      const text = quantityText(random);
      if (/\d/.test(text)) return text;
    }
  };
  return Array.from({ length: 600 }, () => ({
    ask: 'two quantities',
    a: some(),
    b: random.chance(0.1) ? '0' : some(),
    by: random.pick([0, 1, -1, 3, 1000, 1024]),
  }));
}

/** By the name of the file. */
export const QUESTIONS: Record<string, () => object[]> = { quantities, pairs };
