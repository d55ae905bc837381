/** Validates the schedules of CronJobs as github.com/robfig/cron ParseStandard does. */

interface Range {
  least: number;
  most: number;
  names: readonly string[];
}

const NONE: readonly string[] = [];
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const DAYS = 'sun mon tue wed thu fri sat'.split(' ');

const FIELDS: readonly Range[] = [
  { least: 0, most: 59, names: NONE },
  { least: 0, most: 23, names: NONE },
  { least: 1, most: 31, names: NONE },
  { least: 1, most: 12, names: ['', ...MONTHS] },
  { least: 0, most: 6, names: DAYS },
];

const DESCRIPTORS = ['yearly', 'annually', 'monthly', 'weekly', 'daily', 'midnight', 'hourly'];

/** Returns the errors of a schedule; an empty list if it is valid. */
export function cronSchedule(text: string): string[] {
  const schedule = text.replace(/^(TZ|CRON_TZ)=\S* */, '');
  if (schedule === '') return ['empty spec string'];
  if (schedule.startsWith('@')) {
    const every = schedule.startsWith('@every ') ? schedule.slice('@every '.length) : undefined;
    const known =
      every === undefined
        ? DESCRIPTORS.includes(schedule.slice(1))
        : /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+)$/.test(every);
    return known ? [] : [`unrecognized descriptor: ${schedule}`];
  }
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== FIELDS.length)
    return [`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`];
  const isWrong = fields.some((field, at) =>
    field.split(',').some((part) => part !== '' && !isPart(part, FIELDS[at] as Range)),
  );
  return isWrong ? [`failed to parse ${schedule}`] : [];
}

/** `*`, `5` or `1-3`, each with an optional step: `5/15`. */
function isPart(part: string, range: Range): boolean {
  const [span = '', step, ...more] = part.split('/');
  const [low = '', high, ...others] = span.split('-');
  if (more.length > 0 || others.length > 0) return false;
  if (step !== undefined && (!/^\d+$/.test(step) || Number(step) === 0)) return false;
  if (low === '*' || low === '?') return true;
  const first = numberOf(low, range);
  const last = high === undefined ? first : numberOf(high, range);
  if (first === undefined || last === undefined) return false;
  return first >= range.least && last <= range.most && first <= last;
}

function numberOf(text: string, { names }: Range): number | undefined {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase());
  if (named >= 0) return named;
  return /^\+?\d+$/.test(text) ? Number(text) : undefined;
}
