/** `capstan/manager`: what runs controllers in a process, with its servers and signals. Node only. */
export type {
  Collector,
  ControllerDefaults,
  Manager,
  ReportOptions,
  Runnable,
  Span,
  Tracer,
} from '../controller/manager.ts';
export { debugPage, type LivePageHandler, type LivePageOptions } from './page/debug-page.ts';
export type { InformerState, LivePageState } from './page/state.ts';
export type { Verdict, VerdictState } from './page/verdict.ts';
export {
  findObjects,
  type InformerReport,
  type LeaderReport,
  type ManagerReport,
  type ObjectReport,
  type RunnableReport,
  type SearchedInformer,
} from './report.ts';
