import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import type {
  CandidateView,
  Cells,
  Columns,
  ControlReply,
  ControlRequest,
  DecisionReply,
  DecisionRequest,
  Doctor,
  ErrorReply,
  Exported,
  Form,
  Models,
  Questions,
  Records,
  RunList,
  RunStarted,
  RunState,
  StartRun,
  VerifyReply,
  Version
} from './types';

/** The server's address for everything of this extension, below its base URL. */
const NAMESPACE = 'aide-jupyter';

/** What the server said about a request that it did not fulfil, or that it could not be reached. */
export class ApiError extends Error {
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** What a person can do about it. */
  readonly advice: string;

  constructor(status: number, reply: Partial<ErrorReply>) {
    super(reply.message || `The server answered with status ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.advice = reply.advice ?? '';
  }
}

/** The REST interface: one function for each verb. Each throws `ApiError`. */
export class Api {
  constructor(readonly settings: ServerConnection.ISettings) {}

  version(): Promise<Version> {
    return this.ask('version');
  }

  form(): Promise<Form> {
    return this.ask('form');
  }

  models(name?: string): Promise<Models> {
    return this.ask(`models${query({ name })}`);
  }

  columns(path: string): Promise<Columns> {
    return this.ask(`columns${query({ path })}`);
  }

  /** The sandbox as it was last looked at. */
  doctor(): Promise<Doctor> {
    return this.ask('doctor');
  }

  /** Look at the sandbox again: a real jail is built and probed. */
  examine(): Promise<Doctor> {
    return this.ask('doctor', {});
  }

  runs(): Promise<RunList> {
    return this.ask('runs');
  }

  start(request: StartRun): Promise<RunStarted> {
    return this.ask('runs', request);
  }

  /** The run as its records tell it; with `after` only the nodes and points that changed since that record. */
  state(run: string, after?: number): Promise<RunState> {
    return this.ask(`${of(run)}/state${query({ after })}`);
  }

  candidate(run: string, candidate: string): Promise<CandidateView> {
    return this.ask(`${of(run)}/candidates/${encodeURIComponent(candidate)}`);
  }

  questions(run: string): Promise<Questions> {
    return this.ask(`${of(run)}/reviews`);
  }

  decide(run: string, decision: DecisionRequest): Promise<DecisionReply> {
    return this.ask(`${of(run)}/decisions`, decision);
  }

  control(run: string, request: ControlRequest): Promise<ControlReply> {
    return this.ask(`${of(run)}/control`, request);
  }

  records(run: string, after?: number, limit?: number): Promise<Records> {
    return this.ask(`${of(run)}/records${query({ after, limit })}`);
  }

  cells(run: string, after?: number): Promise<Cells> {
    return this.ask(`${of(run)}/cells${query({ after })}`);
  }

  verify(run: string): Promise<VerifyReply> {
    return this.ask(`${of(run)}/verify`);
  }

  verifyPath(path: string): Promise<VerifyReply> {
    return this.ask(`verify${query({ path })}`);
  }

  /** Write the best program as a notebook; without a path beside the audit notebook. */
  exportBest(run: string, path?: string): Promise<Exported> {
    return this.ask(`${of(run)}/export`, path === undefined ? {} : { path });
  }

  /** The bytes of a long text or an image. */
  async blob(run: string, sha256: string): Promise<ArrayBuffer> {
    return (await this.request(`${of(run)}/blobs/${encodeURIComponent(sha256)}`)).arrayBuffer();
  }

  /** The address of a run's socket for one tab. */
  socket(run: string, tab: string): string {
    const url = URLExt.join(this.settings.wsUrl, NAMESPACE, `${of(run)}/live`);
    const token = this.settings.token;
    return url + query({ tab, token: this.settings.appendToken && token ? token : undefined });
  }

  private async ask<T>(path: string, body?: object): Promise<T> {
    const response = await this.request(path, body);
    try {
      return (await response.json()) as T;
    } catch {
      throw new ApiError(response.status, { message: 'The answer of the server is no JSON.' });
    }
  }

  private async request(path: string, body?: object): Promise<Response> {
    const init: RequestInit =
      body === undefined
        ? { method: 'GET', cache: 'no-store' }
        : { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const url = URLExt.join(this.settings.baseUrl, NAMESPACE, path);
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(url, init, this.settings);
    } catch {
      throw new ApiError(0, {
        message: 'The Jupyter server cannot be reached.',
        advice: 'A run goes on without this page. The page connects again by itself.'
      });
    }
    if (!response.ok) {
      throw new ApiError(response.status, await said(response));
    }
    return response;
  }
}

function of(run: string): string {
  return `runs/${encodeURIComponent(run)}`;
}

function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : '';
}

async function said(response: Response): Promise<Partial<ErrorReply>> {
  try {
    const reply: unknown = await response.json();
    return typeof reply === 'object' && reply !== null ? reply : {};
  } catch {
    return {};
  }
}
