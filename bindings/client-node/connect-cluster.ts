/**
 * The cluster of a program that was started with certain flags, in a certain environment: its
 * kubeconfig, its proxy, and a transport to it.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { CapstanError, invalid, isError, requireFunction } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Transport } from '../cache/rest/transport.ts';
import { clusterOf, type KubeConfigLike } from './credentials.ts';
import { environmentProxy } from './environment-proxy.ts';
import { kubeConfigTransport } from './kube-config-transport.ts';
import type { ConnectionOptions } from './node-transport.ts';

/** Which cluster: the flags `--kubeconfig`, `--context` and `--namespace`. */
export interface ClusterChoice {
  /** The path of a kubeconfig. Default: see {@link connectCluster}. */
  readonly kubeconfig?: string | undefined;
  /** A context of the kubeconfig. Default: its current one. */
  readonly context?: string | undefined;
  /** A namespace. Default: the context's, the Pod's, or `default`. */
  readonly namespace?: string | undefined;
}

const CHOICE_NAMES = namesOf<ClusterChoice>()({ kubeconfig: 1, context: 1, namespace: 1 });

interface Named {
  readonly name: string;
}

interface Context extends Named {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string | undefined;
}

/** What is used of @kubernetes/client-node's `KubeConfig`. */
export interface LoadableKubeConfig extends KubeConfigLike {
  loadFromFile(file: string): void;
  loadFromCluster(): void;
  loadFromOptions(options: object): void;
  getContexts(): readonly Context[];
  getClusters(): readonly Named[];
  getUsers(): readonly Named[];
  getCurrentContext(): string;
  setCurrentContext(name: string): void;
}

/** A cluster, and how to reach it. */
export interface ConnectedCluster<C> {
  /** For {@link kubeConfigTransport}, and for client-node's own classes, as `Exec`. */
  readonly config: C;
  /** For `newManager` and `newClient`. */
  readonly transport: Transport & AsyncDisposable;
  readonly context: string;
  readonly namespace: string;
  /** The files that were read, or the Pod, for a log line. */
  readonly source: string;
}

/**
 * Connects to the cluster of a kubeconfig or of the Pod, with the proxy of the environment. It
 * takes the first of these that exists:
 *
 * - the file `choice.kubeconfig`,
 * - the files of `KUBECONFIG` that exist: of two clusters, users or contexts with the same
 *   name the first counts, and so does the first current context,
 * - the service account of the Pod, unless `choice.context` names a context,
 * - `~/.kube/config`.
 *
 * The proxy is the cluster's `proxy-url`, else that of `HTTPS_PROXY` (`HTTP_PROXY` for a server at
 * http) unless `NO_PROXY` names the server: by host, domain, address, network and port, as in Go. A
 * server at localhost has none. The proxy is also set in the KubeConfig, so that client-node's own
 * classes go through it.
 *
 * Nothing is sent yet: a server that cannot be reached shows in the first request. Followed are
 * client-go's ClientConfigLoadingRules and controller-runtime's config.GetConfig.
 *
 * @param KubeConfig the class of @kubernetes/client-node
 * @param options of the connections, as of {@link kubeConfigTransport}
 * @throws CapstanError INVALID_ARGUMENT if there is no such cluster. No text of a file is in it.
 * @example
 * const cluster = connectCluster(KubeConfig, { context: 'staging' });
 * const manager = newManager({ transport: cluster.transport });
 */
export function connectCluster<C extends LoadableKubeConfig>(
  KubeConfig: new () => C,
  choice: ClusterChoice = {},
  options: ConnectionOptions = {},
): ConnectedCluster<C> {
  requireFunction('KubeConfig', KubeConfig);
  requireNames('choice', choice, 'flag of a cluster', CHOICE_NAMES);
  for (const [name, value] of Object.entries(choice))
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw invalid(`choice.${name}`, 'a text', value);
  const { config, source } = load(KubeConfig, choice);
  const context = chooseContext(config, choice.context, source);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw wrong(
      `the context "${context.name}" of ${source}`,
      `there is no cluster "${context.cluster}"`,
    );
  if (!cluster.proxyUrl) {
    const proxy = environmentProxy(clusterOf(config).url, process.env);
    if (proxy !== undefined) Object.assign(cluster, { proxyUrl: proxy.href });
  }
  return {
    config,
    transport: kubeConfigTransport(config, options),
    context: context.name,
    namespace: choice.namespace ?? namespaceOf(context, source),
    source,
  };
}

interface Loaded<C> {
  readonly config: C;
  readonly source: string;
}

const IN_POD = 'the service account of the Pod';

function load<C extends LoadableKubeConfig>(
  KubeConfig: new () => C,
  { kubeconfig, context }: ClusterChoice,
): Loaded<C> {
  if (kubeconfig !== undefined) return fromFiles(KubeConfig, [kubeconfig]);
  const {
    KUBECONFIG = '',
    KUBERNETES_SERVICE_HOST = '',
    KUBERNETES_SERVICE_PORT = '',
  } = process.env;
  const named = [...new Set(KUBECONFIG.split(delimiter).filter(Boolean))];
  const present = named.filter((file) => existsSync(file));
  if (present.length > 0) return fromFiles(KubeConfig, present);
  const isPod = KUBERNETES_SERVICE_HOST !== '' && KUBERNETES_SERVICE_PORT !== '';
  let token: string | undefined;
  if (isPod && context === undefined) {
    const config = new KubeConfig();
    config.loadFromCluster();
    token = tokenFileOf(config);
    if (token === undefined || existsSync(token)) return { config, source: IN_POD };
  }
  const home = join(homedir(), '.kube', 'config');
  if (named.length === 0 && existsSync(home)) return fromFiles(KubeConfig, [home]);
  const nothing = [
    named.length === 0
      ? 'KUBECONFIG is not set'
      : `no file of KUBECONFIG exists (${named.join(', ')})`,
    ...(token === undefined ? [] : [`the Pod has no ${token}`]),
    ...(isPod ? [] : ['this is no Pod']),
    ...(named.length === 0 ? [`there is no ${home}`] : []),
  ];
  throw wrong('the cluster', `${nothing.join(', and ')}; give --kubeconfig`);
}

function tokenFileOf(config: LoadableKubeConfig): string | undefined {
  const [user] = config.getUsers() as readonly {
    readonly authProvider?: { readonly config?: { readonly tokenFile?: string } };
  }[];
  return user?.authProvider?.config?.tokenFile;
}

function fromFiles<C extends LoadableKubeConfig>(
  KubeConfig: new () => C,
  files: readonly string[],
): Loaded<C> {
  const source = `the kubeconfig ${files.join(', ')}`;
  const read = files.map((file) => {
    const config = new KubeConfig();
    try {
      config.loadFromFile(file);
    } catch (error) {
      throw wrong(`the kubeconfig ${file}`, whyUnreadable(error));
    }
    return config;
  });
  const [first, ...more] = read;
  if (first === undefined || more.length === 0) return { config: read[0] as C, source };
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: firstOfEach(read.flatMap((one) => one.getClusters())),
    users: firstOfEach(read.flatMap((one) => one.getUsers())),
    contexts: firstOfEach(read.flatMap((one) => one.getContexts())),
    currentContext: read.map((one) => one.getCurrentContext()).find(Boolean),
  });
  return { config, source };
}

function firstOfEach(all: readonly Named[]): Named[] {
  return all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at);
}

/** The reason without the text of the file, which js-yaml adds to its message. */
function whyUnreadable(error: unknown): string {
  const { code, reason, mark } = error as {
    code?: unknown;
    reason?: unknown;
    mark?: { line?: unknown } | null;
  };
  if (code === 'ENOENT') return 'it does not exist';
  if (typeof code === 'string') return `it cannot be read (${code})`;
  if (typeof reason === 'string' && typeof mark?.line === 'number')
    return `it is no YAML: ${reason} in line ${mark.line + 1}`;
  const why = isError(error) && !(error instanceof TypeError) ? `: ${error.message}` : '';
  return `it is no kubeconfig${why}`;
}

function chooseContext(
  config: LoadableKubeConfig,
  name: string | undefined,
  source: string,
): Context {
  const contexts = config.getContexts();
  const known = contexts.map((one) => one.name).join(', ') || 'none';
  const wanted = name ?? config.getCurrentContext();
  if (!wanted) throw wrong(source, `it has no current context; give --context, one of ${known}`);
  const context = contexts.find((one) => one.name === wanted);
  if (context === undefined)
    throw wrong(
      name === undefined ? `the current context of ${source}` : '--context',
      `there is no context "${wanted}" in ${source}, which has ${known}`,
    );
  config.setCurrentContext(wanted);
  return context;
}

/** client-go: inClusterClientConfig.Namespace reads POD_NAMESPACE first. */
function namespaceOf({ namespace }: Context, source: string): string {
  const ofPod = source === IN_POD ? process.env.POD_NAMESPACE : undefined;
  return ofPod || namespace?.trim() || 'default';
}

function wrong(what: string, why: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `${what}: ${why}`);
}
