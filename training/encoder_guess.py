"""The network's own reading of chats, in batches on whatever device it stands: the windows and cuts of the runtime."""

import random

import torch

from keepbook.models.reader.windows import Coder, stretches
from training.chats import Chat
from training.examples import of_chat, tied, turns_of
from training.fit import tie_logits
from training.judge import Guess
from training.net import Net

BATCH = 32


@torch.no_grad()
def own_cuts(net: Net, chats: list[Chat], coder: Coder) -> list[Guess]:
    found: list[Guess] = []
    work = []
    for chat in chats:
        turns = turns_of(chat)
        coded = coder.code(turns)
        work += [(chat.id, turns, coded, window) for window in coder.windows(coded)]
    for at in range(0, len(work), BATCH):
        batch = work[at : at + BATCH]
        hidden = net.encode([one[3].ids for one in batch], [one[3].types for one in batch])
        chances = torch.sigmoid(net.cut(hidden))[..., 0].cpu()
        spans, places = [], []
        for row, (chat_id, turns, coded, window) in enumerate(batch):
            for run in window.runs:
                text, one = turns[run.turn].text, coded[run.turn]
                for piece in stretches(text, one, run, chances[row, run.at : run.at + run.size].tolist()):
                    spans.append((row, piece.first, piece.until))
                    places.append((chat_id, run.turn, piece.start, piece.end))
        thought = net.pieces(hidden, spans)[0].softmax(1).cpu().tolist()
        found += [Guess(*place, tuple(one)) for place, one in zip(places, thought, strict=True)]
    return found


@torch.no_grad()
def given_cuts(net: Net, chats: list[Chat], coder: Coder) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of all outputs and what is right, for the writers' own parts."""
    examples = [one for chat in chats for one in of_chat(chat, coder) if one.spans]
    logits, right = [], []
    for at in range(0, len(examples), BATCH):
        batch = examples[at : at + BATCH]
        hidden = net.encode([one.window.ids for one in batch], [one.window.types for one in batch])
        spans = [(row, *span) for row, one in enumerate(batch) for span in one.spans]
        logits.append(torch.cat(net.pieces(hidden, spans), dim=1).cpu())
        right += [given for one in batch for given in one.right]
    return torch.cat(logits), torch.tensor(right)


@torch.no_grad()
def ties(net: Net, chats: list[Chat], coder: Coder) -> tuple[torch.Tensor, torch.Tensor]:
    pairs = tied(chats, coder, random.Random(1), varying=False)
    logits = [tie_logits(net, pairs[at : at + BATCH]).cpu() for at in range(0, len(pairs), BATCH)]
    return torch.cat(logits), torch.tensor([one.tie for one in pairs])
