/** The times of a schedule. All times are in UTC and in milliseconds since 1970. */
import { TerminalError } from 'capstan/controller';
import { Cron } from 'croner';

/** The first time after `after`, or `undefined` if the schedule has no more. */
export function nextTime(schedule: string, after: number): number | undefined {
  return parse(schedule).nextRun(new Date(after))?.getTime();
}

/** The last time after `after` and not later than `now`, or `undefined` if there is none. */
export function lastTime(schedule: string, after: number, now: number): number | undefined {
  // previousRuns() leaves out the second that it is given.
  const [last] = parse(schedule).previousRuns(1, new Date(now + 1000));
  return last !== undefined && last.getTime() > after ? last.getTime() : undefined;
}

/** A retry cannot fix a wrong schedule: the next change of the object can. */
function parse(schedule: string): Cron {
  try {
    return new Cron(schedule, { utcOffset: 0 });
  } catch (error) {
    throw new TerminalError(`spec.schedule "${schedule}" is no schedule`, { cause: error });
  }
}
