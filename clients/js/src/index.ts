// The device side of a campaign: what leaves it is already randomised, or was agreed to be sent as it is.
export type { Campaign, CollectorOptions, Offer } from "./collector.ts";
export { Device, type DeviceOptions } from "./device.ts";
export { EquivocationError, NetworkError, ParameterError, RefusedError, type Budget } from "./errors.ts";
export type { Fraction } from "./exact.ts";
export type { DrawnReport } from "./explanation.ts";
export type { Fetch } from "./http.ts";
export { OverspentError, type Entry, type Ledger } from "./ledger.ts";
export type { HeadList } from "./list.ts";
export type { Manifest } from "./manifest.ts";
export type { Summary } from "./outbox.ts";
export type { Policy } from "./policy.ts";
export type { Chooser } from "./random.ts";
export type { Consent, Item, Kind, Participation } from "./store.ts";
export type { Terms } from "./terms.ts";
