/** Parses the command line. An unknown flag is an error. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export interface ProgramOptions {
  /** The address of the API server; undefined: the demonstration on the embedded one. */
  readonly target: { server: string } | { kubeconfig: string } | 'in-cluster' | undefined;
  readonly root: string;
  /** The namespace of the Lease. */
  readonly namespace: string;
  readonly workers: number;
  readonly healthProbe: string;
  readonly metrics: string;
}

export const USAGE = `Usage: node examples/provisioner/main.ts [flags]

Without --server, --kubeconfig or --in-cluster it shows itself on an embedded API server, and ends.

  --server URL        provision for the API server at this address
  --kubeconfig FILE   provision for the cluster of this kubeconfig's current context
  --in-cluster        provision for the cluster that it runs in
  --root DIR          the folder of the directories (${join(tmpdir(), 'capstan-volumes')})
  --namespace NAME    the namespace of the Lease (default)
  --workers N         workers of each queue (4)
  --health ADDRESS    where /healthz and /readyz are served (0, nowhere)
  --metrics ADDRESS   where /metrics is served (0, nowhere)
  --help              this text`;

export class UsageError extends Error {}

/** `undefined` for `--help`. */
export function parseOptions(args: string[]): ProgramOptions | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const { server, kubeconfig, workers = '4' } = values;
  const inCluster = values['in-cluster'] ?? false;
  if ([server !== undefined, kubeconfig !== undefined, inCluster].filter(Boolean).length > 1)
    throw new UsageError('--server, --kubeconfig and --in-cluster exclude each other');
  if (!/^[1-9]\d{0,2}$/.test(workers))
    throw new UsageError(`--workers expected 1 to 999, got ${JSON.stringify(workers)}`);
  if (server !== undefined && !/^https?:\/\/./.test(server))
    throw new UsageError(`--server expected an http or https URL, got ${JSON.stringify(server)}`);
  return {
    target: targetOf(server, kubeconfig, inCluster),
    root: values.root ?? join(tmpdir(), 'capstan-volumes'),
    namespace: values.namespace ?? 'default',
    workers: Number(workers),
    healthProbe: values.health ?? '0',
    metrics: values.metrics ?? '0',
  };
}

function targetOf(server: string | undefined, kubeconfig: string | undefined, inCluster: boolean) {
  if (server !== undefined) return { server };
  if (kubeconfig !== undefined) return { kubeconfig };
  return inCluster ? ('in-cluster' as const) : undefined;
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args,
      options: {
        ...{
          server: text,
          kubeconfig: text,
          root: text,
          namespace: text,
          workers: text,
          health: text,
          metrics: text,
        },
        'in-cluster': flag,
        help: flag,
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
