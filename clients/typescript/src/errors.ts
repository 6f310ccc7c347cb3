/** What a server refuses, with a `code` that programs may rely on and a message for people. */

export type Kind =
  | "KeepbookError" | "Invalid" | "NotFound" | "Ambiguous" | "Conflict" | "NotAllowed" | "LimitReached" | "ModelFailed";

export class KeepbookError extends Error {
  constructor(
    message: string,
    /** Stable: `version`, `similar`, `persons_word`, `unavailable`… */
    readonly code: string,
    /** The HTTP status; 0 where there was no answer. */
    readonly status: number = 0,
    /** Which of Keepbook's errors it is. */
    readonly kind: Kind = "KeepbookError",
    /** The argument that is wrong, where one is. */
    readonly field: string | null = null,
    /** What else was told: `candidates`, `similar`, `proposal`… */
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = kind;
  }

  /** The error behind an answer; of a proxy's own page only the status is known. */
  static async from(response: Response): Promise<KeepbookError> {
    const told: unknown = (response.headers.get("content-type") ?? "").includes("json")
      ? await response.json().catch(() => null)
      : null;
    return KeepbookError.of(response.status, told);
  }

  static of(status: number, told: unknown): KeepbookError {
    if (typeof told !== "object" || told === null || !("code" in told)) {
      return new KeepbookError(`the server answered ${status} and no reason`, "unavailable", status);
    }
    const { detail, code, kind, field, type: _type, title: _title, status: _status, ...details } = told as Problem;
    return new KeepbookError(detail, code, status, kind ?? "KeepbookError", field ?? null, details);
  }
}

interface Problem {
  detail: string;
  code: string;
  kind?: Kind;
  field?: string | null;
  type?: string;
  title?: string;
  status?: number;
  [more: string]: unknown;
}
