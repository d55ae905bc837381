/**
 * Writes the pages of the reference by task, docs/reference/<task>.md: `node
 * scripts/reference-pages.ts`. A page lists what one needs first for a task, each with the first
 * sentence of its docstring.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Task {
  /** The name of the page's file. */
  page: string;
  title: string;
  about: string;
  /** By heading: the names of exports, those that one needs first in front. */
  parts: Readonly<Record<string, readonly string[]>>;
}

export const TASKS: readonly Task[] = [
  {
    page: 'queue-keys',
    title: 'Queue keys',
    about: 'From `capstan/workqueue`. Queues need nothing of Kubernetes, and no `await`.',
    parts: {
      Queues: ['WorkQueue', 'DelayingQueue', 'RateLimitingQueue', 'PriorityQueue', 'requestKey'],
      'Rate limiters': [
        'ItemExponentialFailureRateLimiter',
        'ItemFastSlowRateLimiter',
        'BucketRateLimiter',
        'MaxOfRateLimiter',
        'WithMaxWaitRateLimiter',
        'defaultControllerRateLimiter',
        'defaultItemBasedRateLimiter',
      ],
      'Workers and metrics': ['runUntil', 'parallelizeUntil', 'PrometheusProvider'],
      'Where WebAssembly may not be compiled': ['initCore'],
    },
  },
  {
    page: 'watch-objects',
    title: 'Watch objects',
    about: 'From `capstan/cache`. An informer keeps a copy of the objects of a kind.',
    parts: {
      'What to watch': ['defineResource', 'resourceOf', 'ListWatch', 'listWatchFrom'],
      Informers: [
        'newSharedInformerFactory',
        'SharedIndexInformer',
        'waitForCacheSync',
        'waitForNamedCacheSync',
      ],
      Handlers: ['FilteringResourceEventHandler', 'shutDownEventHandler'],
      'Without a cache': ['watch', 'RetryWatcher', 'list', 'listItems'],
      Metrics: ['InformerPrometheusProvider'],
      'Building blocks': ['Reflector', 'RealFIFO', 'DeltaFIFO', 'newInformer', 'MutationCache'],
    },
  },
  {
    page: 'read-a-cache',
    title: 'Read a cache',
    about: 'From `capstan/cache`. Objects of a cache are read-only and never change.',
    parts: {
      Stores: ['Indexer', 'Lister'],
      Indices: ['labelIndex', 'namespaceIndex', 'ownerIndex', 'metaNamespaceIndexFunc'],
      Keys: [
        'metaNamespaceKeyFunc',
        'splitMetaNamespaceKey',
        'deletionHandlingMetaNamespaceKeyFunc',
        'ObjectName',
      ],
      Selectors: ['labelMatcher', 'labelSelectorText'],
      Versions: ['compareResourceVersion'],
      Hashes: ['fnv1a64'],
    },
  },
  {
    page: 'write-objects',
    title: 'Write objects',
    about: 'From `capstan/client`. The client is typed by the resource.',
    parts: {
      Clients: [
        'newClient',
        'newNamespacedClient',
        'newDryRunClient',
        'withFieldOwner',
        'withFieldValidation',
        'withInterceptors',
      ],
      'Create, update, patch': ['createOrUpdate', 'createOrPatch', 'mergeFrom', 'rawPatch'],
      'Owners and finalizers': [
        'setControllerReference',
        'setOwnerReference',
        'getControllerOf',
        'addFinalizer',
        'removeFinalizer',
        'containsFinalizer',
        'finalizer',
        'Finalizers',
        'isBeingDeleted',
      ],
      Conditions: ['setStatusCondition', 'findStatusCondition', 'isStatusConditionTrue'],
      'Errors and retries': [
        'retryOnConflict',
        'retryOnError',
        'isNotFound',
        'isConflict',
        'isAlreadyExists',
        'ignoreNotFound',
        'StatusError',
      ],
      Lists: ['labelSelectorOf', 'fieldSelectorOf', 'listPages', 'listAll'],
      Waiting: ['until', 'watchObject', 'pollUntil'],
      Events: ['EventRecorder', 'eventResource', 'coreEventResource', 'objectReference'],
    },
  },
  {
    page: 'define-custom-resources',
    title: 'Define custom resources',
    about: 'From `capstan/client`. One schema gives the type, the definition and the validation.',
    parts: {
      Definitions: ['defineCustomResource', 'combineVersions', 'withJsonSchema', 'crdResource'],
      Installation: ['installCRDs', 'uninstallCRDs'],
      Discovery: [
        'discover',
        'Discovery',
        'groupVersionKindFor',
        'isObjectNamespaced',
        'isNoMatch',
      ],
      Errors: ['SchemaError', 'InvalidObjectError', 'CRDError'],
    },
  },
  {
    page: 'run-controllers',
    title: 'Run controllers',
    about: 'From `capstan/controller` and `capstan/manager`.',
    parts: {
      Controllers: [
        'newControllerManagedBy',
        'createController',
        'defineRequest',
        'TerminalError',
        'asReconciler',
      ],
      'The manager': [
        'newManager',
        'setupSignalHandler',
        'HTTPServer',
        'debugPage',
        'withAuthenticationAndAuthorization',
        'certificateFiles',
        'ProcessMetrics',
      ],
      'Leader election': ['LeaderElector', 'LeaseLock', 'runOrDie', 'LeaderElectionMetrics'],
      Metrics: ['MetricsRegistry'],
      Logs: ['silentLogger', 'withFields', 'pinoLogger'],
    },
  },
  {
    page: 'admit-objects',
    title: 'Admit objects',
    about: 'From `capstan/webhook`, on the server of `capstan/manager`.',
    parts: {
      Webhooks: [
        'newWebhookManagedBy',
        'WebhookBuilder',
        'Validator',
        'Defaulter',
        'schemaValidator',
      ],
      Conversions: ['Conversion', 'conversionDefinitions'],
      'In a handler': ['AdmissionRequest', 'AdmissionDenied'],
      'The server': ['WebhookOptions', 'WebhookServer', 'webhookConfigurations'],
    },
  },
  {
    page: 'choose-what-to-reconcile',
    title: 'Choose what to reconcile',
    about:
      'From `capstan/controller`. Sources give events, predicates drop some, handlers map them.',
    parts: {
      Predicates: [
        'generationChangedPredicate',
        'labelChangedPredicate',
        'annotationChangedPredicate',
        'labelSelectorPredicate',
        'resourceVersionChangedPredicate',
        'newPredicateFuncs',
        'and',
        'or',
        'not',
      ],
      Sources: [
        'kindSource',
        'informerSource',
        'channelSource',
        'EventChannel',
        'timerSource',
        'funcSource',
      ],
      Handlers: [
        'enqueueRequestForObject',
        'enqueueRequestForOwner',
        'enqueueRequestsFromMapFunc',
        'withLowPriorityWhenUnchanged',
        'owning',
        'watching',
      ],
    },
  },
  {
    page: 'connect',
    title: 'Connect to a cluster',
    about: 'From `capstan/client-node` in Node, and `capstan/cache` elsewhere.',
    parts: {
      'The main of a program': ['connectCluster', 'mainFlags'],
      Transports: ['kubeConfigTransport', 'httpTransport', 'fetchTransport', 'TransportError'],
      'Around a transport': [
        'rateLimitedTransport',
        'RequestRateLimiter',
        'instrumentTransport',
        'RestClientMetrics',
        'recordAccess',
        'AccessRecord',
        'accessOf',
      ],
    },
  },
  {
    page: 'test-controllers',
    title: 'Test controllers',
    about: 'From `capstan/testing`; `passes` and `updateEvent` from `capstan/controller`.',
    parts: {
      'Servers and time': ['ApiServer', 'fakeClient', 'fakeTransport', 'FakeClock'],
      'For unit tests': ['statusErrors', 'FakeRecorder', 'passes', 'updateEvent'],
      'A real API server': ['startEnvtest', 'startTestServer'],
      'Properties of conversions': ['roundTrips', 'RoundTripOptions'],
    },
  },
  {
    page: 'compare-values',
    title: 'Compare values',
    about: 'From `capstan/apimachinery`: what objects of the API have as values.',
    parts: {
      Quantities: [
        'parseQuantity',
        'compareQuantity',
        'Quantity',
        'newQuantity',
        'newMilliQuantity',
      ],
      'Equality and patches': ['semanticEqual', 'deepDerivative', 'strategicMergeFrom'],
    },
  },
];

/** The docstring in front of the definition of an exported name, without its frame. */
function docstringOf(name: string, sources: readonly string[]): string {
  const definition = new RegExp(
    String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/\s*export (?:declare )?(?:abstract )?(?:async )?` +
      String.raw`(?:class|function\*?|const|interface|type) ${name}\b`,
  );
  for (const source of sources) {
    const found = definition.exec(source)?.[1];
    if (found !== undefined) return found.replaceAll(/^[ \t]*\* ?/gm, '').trim();
  }
  throw new Error(`expected an exported ${name} with a docstring in bindings/`);
}

/** The text of a comment on one line, without what follows its first paragraph, links as code. */
export function docstringText(comment: string): string {
  const text = comment.replaceAll(/^[ \t]*\* ?/gm, '').trim();
  return onOneLine(text);
}

function onOneLine(text: string): string {
  const paragraph = text.split(/\n\s*\n|\n(?=@|- )/)[0] ?? '';
  return paragraph
    .replaceAll(/\{@link ([\w.]+)(?:\(\))?(?: [^}]*)?\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ');
}

/** Up to the first period that ends a sentence, on one line, links as code. */
export function firstSentence(text: string): string {
  const line = onOneLine(text).replace(
    /(?<=\.) (?:client-go|controller-runtime|apimachinery|kube-rs): .*$/,
    '',
  );
  return /^.*?[.:](?= [A-Z`]|$)/.exec(line)?.[0].replace(/:$/, '.') ?? line;
}

export function taskPage({ title, about, parts }: Task, order: number): string {
  const sources = globSync('bindings/**/*.ts', { cwd: root })
    .sort()
    .map((file) => readFileSync(`${root}${file}`, 'utf8'));
  const names = Object.values(parts).flat().slice(0, 4).join(', ');
  const tables = Object.entries(parts).map(([heading, exports]) => {
    const rows = exports.map((name) => {
      const text = firstSentence(docstringOf(name, sources)).replaceAll('|', '\\|');
      return `| \`${name}\` | ${text} |`;
    });
    return `## ${heading}\n\n| name | what |\n| --- | --- |\n${rows.join('\n')}\n`;
  });
  return `---
title: ${title}
order: ${order}
description: What one needs for this task first, ${names} and others.
---

<!-- Written by scripts/reference-pages.ts from the docstrings. -->

# ${title}

${about}

${tables.join('\n')}`;
}

export const pageOf = ({ page }: Task): string => `${root}docs/reference/${page}.md`;
export const FIRST_ORDER = 10;

if (import.meta.main)
  for (const [i, task] of TASKS.entries())
    writeFileSync(pageOf(task), taskPage(task, FIRST_ORDER + i));
