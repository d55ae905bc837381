/**
 * The sources of requests: kinds of objects, informers, channels, timers, functions. Each is one
 * file in `sources/`, and all but functions lead their events through the same pipe of predicates
 * and a handler.
 */
export { type ChannelSourceOptions, channelSource } from './sources/channel.ts';
export { EventChannel, type EventChannelOptions } from './sources/event-channel.ts';
export { type FuncStart, funcSource } from './sources/func.ts';
export {
  type InformerSourceOptions,
  informerSource,
  type KindSourceOptions,
  kindSource,
} from './sources/kind.ts';
export type { PipeOptions } from './sources/pipe.ts';
export { type TimerSourceOptions, type TimerTick, timerSource } from './sources/timer.ts';
