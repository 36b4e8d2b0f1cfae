// Switches for Chromium in tests: every window would load two pages for its address bar, and every page start a process for
// one that may follow; nobody sees them. A list of features counts once, so it repeats Playwright's own.
const byPlaywright = [
  "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying",
  "OptimizationHints", "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning",
]; // prettier-ignore
const unseen = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"];

export const SWITCHES = ["--no-sandbox", `--disable-features=${[...byPlaywright, ...unseen].join(",")}`];
