/** A plugin as it presents itself at its socket. */
export interface Plugin {
  readonly name: string;
  /** The path of the socket that it serves at. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** Whoever takes plugins of one type, such as `CSIPlugin`. */
export interface PluginHandler {
  /** Rejects, with what the plugin is told, if it cannot be used. */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** Its socket is gone, or another has taken its place. */
  deregister(plugin: Plugin, signal: AbortSignal): Promise<void>;
}
