/**
 * The page: two informers over `fetch`, whose caches are drawn as they change. The page sends no
 * request itself: filter, counts and details come from the caches, and the informers resume a watch
 * that is cut.
 */
import {
  DeletedFinalStateUnknown,
  fetchTransport,
  ListWatch,
  labelMatcher,
  metaNamespaceKeyFunc,
  SharedIndexInformer,
} from 'capstan/cache';
import { Node, Pod, type PodObject } from '../resources.ts';
import { Board } from './board.ts';
import { byId, element, setText } from './dom.ts';
import { ChangeLog, drawDetails, Freshness } from './side.ts';
import { isReady, reasonOf, STATES, stateOf } from './states.ts';

const TICK_MS = 250;

const transport = fetchTransport(location.origin);
/**
 * A short back-off, because a user is waiting and the proxy is on this machine. The default grows
 * to 30 s.
 */
const backoff = { duration: 250, cap: 3000 };
/** Members that the page does not show are dropped. */
const pods = new SharedIndexInformer(new ListWatch(transport, Pod), {
  backoff,
  drop: [
    'spec.containers',
    'spec.volumes',
    'spec.tolerations',
    'status.conditions',
    'metadata.annotations',
  ],
});
const nodes = new SharedIndexInformer(new ListWatch(transport, Node), {
  backoff,
  drop: ['status.images'],
});

const log = new ChangeLog(byId('log', HTMLOListElement));
const totals = byId('totals', HTMLElement);
const details = byId('details', HTMLElement);
const selector = byId('selector', HTMLInputElement);
const note = byId('filter-note', HTMLElement);
let matches = labelMatcher('');
let chosen: string | undefined;

const board = new Board(
  byId('board', HTMLElement),
  {
    pod: (key) => pods.getIndexer().getByKey(key),
    node: (name) => nodes.getIndexer().getByKey(name),
    matches: ({ metadata }) => matches(metadata.labels ?? {}),
  },
  drawCounts,
);

function describePod(pod: PodObject): string {
  const state = stateOf(pod);
  const node = pod.spec?.nodeName;
  if (state === 'leaving') return `is leaving ${node ?? ''}`.trimEnd();
  const what = state === 'running' ? 'runs' : reasonOf(pod);
  return node === undefined ? what : `${what} on ${node}`;
}

const podHandler = pods.addEventHandler({
  onAdd(pod, isInInitialList) {
    const key = metaNamespaceKeyFunc(pod);
    board.podChanged(key, !isInInitialList);
    if (!isInInitialList) log.add(pod.metadata.name, 'came', stateOf(pod));
  },
  onUpdate(old, pod) {
    const key = metaNamespaceKeyFunc(pod);
    const changed = describePod(old) !== describePod(pod) || stateOf(old) !== stateOf(pod);
    board.podChanged(key, changed);
    if (changed) log.add(pod.metadata.name, describePod(pod), stateOf(pod));
  },
  onDelete(gone) {
    const key = gone instanceof DeletedFinalStateUnknown ? gone.key : metaNamespaceKeyFunc(gone);
    board.podChanged(key, true);
    log.add(key.slice(key.indexOf('/') + 1), 'is gone', 'leaving');
  },
});

const nodeHandler = nodes.addEventHandler({
  onAdd: ({ metadata }) => board.nodeChanged(metadata.name),
  onUpdate(old, node) {
    board.nodeChanged(node.metadata.name);
    if (isReady(old) !== isReady(node))
      log.add(
        node.metadata.name,
        isReady(node) ? 'is ready' : 'is not ready',
        isReady(node) ? 'running' : 'failed',
      );
  },
  onDelete(gone) {
    const name = gone instanceof DeletedFinalStateUnknown ? gone.key : gone.metadata.name;
    board.nodeChanged(name);
    log.add(name, 'is gone', 'leaving');
  },
});

const legend = new Map(
  STATES.map((state) => {
    const count = element('b', {}, '0');
    byId('legend', HTMLElement).append(
      element('li', { 'data-state': state }, element('i', { class: 'swatch' }), count, ` ${state}`),
    );
    return [state, count] as const;
  }),
);

function drawCounts(): void {
  const { states, within, all } = board.counts();
  for (const [state, count] of legend) {
    const number = states.get(state) ?? 0;
    setText(count, String(number));
    count.parentElement?.classList.toggle('none', number === 0);
  }
  const known = nodes.getIndexer().list();
  const ready = known.filter(isReady).length;
  // A cache may have synced before its handlers have been called for all objects.
  if (!podHandler.hasSynced() || !nodeHandler.hasSynced()) return;
  document.documentElement.dataset.state = 'synced';
  setText(
    totals,
    `${within === all ? all : `${within} of ${all}`} Pods on ${known.length} ` +
      `nodes${ready === known.length ? '' : `, ${known.length - ready} not ready`}`,
  );
  byId('empty', HTMLElement).hidden = all + known.length > 0;
}

selector.addEventListener('input', () => {
  try {
    matches = labelMatcher(selector.value);
    setText(note, '');
    selector.removeAttribute('aria-invalid');
  } catch (error) {
    setText(
      note,
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error),
    );
    selector.setAttribute('aria-invalid', 'true');
    return; // the previous filter stays in use
  }
  board.everythingChanged();
});

byId('board', HTMLElement).addEventListener('click', ({ target }) => {
  const tile = target instanceof Element ? target.closest<HTMLElement>('.pod') : null;
  if (tile?.dataset.key === undefined) return;
  document.querySelector('.pod.chosen')?.classList.remove('chosen');
  tile.classList.add('chosen');
  chosen = tile.dataset.key;
  tick();
});

const freshness = [new Freshness('Pods', pods), new Freshness('Nodes', nodes)];
byId('informers', HTMLElement).append(...freshness.map(({ root }) => root));

function tick(): void {
  for (const each of freshness) each.draw();
  if (chosen !== undefined) drawDetails(details, chosen, pods.getIndexer().getByKey(chosen));
  // an empty cluster sends no events
  if (document.documentElement.dataset.state === 'loading') board.everythingChanged();
}

setInterval(tick, TICK_MS);
tick();
void pods.run();
void nodes.run();
