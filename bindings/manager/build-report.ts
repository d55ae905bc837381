/** Builds the report of a manager from its parts when it is asked for. */

import { nameOfError, textOfError } from '../base/error-text.ts';
import { requireInteger } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { SharedIndexInformer } from '../cache/index.ts';
import type { ControllerReport, ErrorReport, ReportOptions } from '../controller/index.ts';
import { version } from '../generated/version.ts';
import type { ShardReport } from '../shards/overview.ts';
import type { Election } from './election.ts';
import type { InformerReport, LeaderReport, ManagerReport, RunnableReport } from './report.ts';
import type { GroupMember, GroupName } from './runnable-group.ts';

export interface ManagerReportParts {
  readonly now: number;
  readonly startedAt: number | undefined;
  readonly stopping: boolean;
  readonly election: Election | undefined;
  readonly shards?: { report(): ShardReport } | undefined;
  /** Whether the runnables of the leader were started. */
  readonly leads: boolean;
  readonly informers: ReadonlyMap<string, SharedIndexInformer<never, string>>;
  readonly members: readonly (GroupMember & { readonly group: GroupName })[];
}

export function buildManagerReport(
  parts: ManagerReportParts,
  options: ReportOptions,
): ManagerReport {
  const { now, startedAt, stopping, election, shards, informers, members } = parts;
  requireInteger('limit', options.limit ?? 0, 0);
  requireInteger('among', options.among ?? 0, 0);
  return {
    version,
    startedAgoMs: startedAt === undefined ? undefined : now - startedAt,
    now,
    stopping,
    ...(election === undefined ? {} : { leader: leaderReport(election) }),
    ...(shards === undefined ? {} : { shards: shards.report() }),
    controllers: members.flatMap((member) => controllerReport(member, options)),
    informers: [...informers].map(
      ([key, informer]): InformerReport => ({ ...informer.status(), key, resource: key }),
    ),
    runnables: members.map((member) => runnableReport(member, parts)),
  };
}

/** An error in one report must not hide the others. */
function controllerReport(
  { name, runnable }: GroupMember,
  options: ReportOptions,
): ControllerReport[] {
  try {
    return runnable.report === undefined ? [] : [runnable.report(options)];
  } catch (error) {
    handleError(error, `the report of the runnable "${name}"`);
    return [];
  }
}

function leaderReport({ elector, lease }: Election): LeaderReport {
  const holder = elector.getLeader();
  return {
    lease,
    identity: elector.identity,
    holder: holder === '' ? undefined : holder,
    holdsLease: elector.holdsLease(),
    validMs: elector.leaseValidMs(),
  };
}

function runnableReport(
  { name, group, state, error, failedAt }: GroupMember & { readonly group: GroupName },
  { now, startedAt, leads }: ManagerReportParts,
): RunnableReport {
  const waits =
    state === 'not started' && group === 'leader election' && startedAt !== undefined && !leads;
  return {
    name,
    group,
    state: waits ? 'waiting for leadership' : state,
    ...(state === 'failed' ? { error: errorReport(error, now - (failedAt ?? now)) } : {}),
  };
}

function errorReport(error: unknown, agoMs: number): ErrorReport {
  return { name: nameOfError(error), message: textOfError(error), agoMs };
}
