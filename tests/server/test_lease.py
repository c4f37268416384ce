"""The lease of a notebook: one tab writes, whatever happens to sockets, tabs and the server."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.server.lease import LOST_SECONDS, START_SECONDS, Kept, Lease, Told

A, B, C = "tab-aaaa", "tab-bbbb", "tab-cccc"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> Lease:
    lease = Lease(clock)
    for tab in (A, B, C):
        lease.connected(tab)
    return lease


def test_without_a_page_the_owner_writes(lease: Lease) -> None:
    assert lease.free
    assert lease.lapses_in is None


def test_the_first_tab_that_opens_it_writes_and_the_second_shows(lease: Lease) -> None:
    assert lease.open(A) == [Told(A, "granted", reconcile=True)]
    assert lease.open(B) == [Told(B, "held")]
    assert (lease.holder, lease.epoch, lease.free) == (A, 1, False)


def test_opening_it_again_changes_nothing(lease: Lease) -> None:
    lease.open(A)
    assert lease.open(A) == [Told(A, "granted")]
    assert lease.epoch == 1


def test_taking_it_revokes_it_elsewhere_first_and_begins_an_epoch(lease: Lease) -> None:
    lease.open(A)
    lease.open(B)
    assert lease.take(B) == [Told(A, "revoked"), Told(B, "granted", reconcile=True)]
    assert (lease.holder, lease.epoch) == (B, 2)


def test_a_tab_that_has_not_opened_it_cannot_take_it(lease: Lease) -> None:
    lease.open(A)
    assert lease.take(B) == [Told(B, "held")]
    assert lease.holder == A


def test_taking_what_one_has_changes_nothing(lease: Lease) -> None:
    lease.open(A)
    assert lease.take(A) == [Told(A, "granted")]
    assert lease.epoch == 1


def test_closing_it_frees_it_and_raises_the_epoch(lease: Lease) -> None:
    lease.open(A)
    assert lease.close(A) == []
    assert (lease.free, lease.epoch) == (True, 2)


def test_closing_it_lets_another_tab_that_shows_it_go_on(lease: Lease) -> None:
    lease.open(A)
    lease.open(B)
    assert lease.close(A) == [Told(B, "granted", reconcile=True)]


def test_closing_it_in_a_tab_that_only_shows_it_changes_nothing(lease: Lease) -> None:
    lease.open(A)
    lease.open(B)
    assert lease.close(B) == []
    assert (lease.holder, lease.epoch) == (A, 1)


def test_what_is_written_counts_under_the_epoch_alone(lease: Lease) -> None:
    lease.open(A)
    lease.open(B)
    assert lease.written(A, 1, 7) == []
    assert lease.written_seq == 7
    lease.take(B)
    assert lease.written(A, 1, 9) == [Told(A, "revoked")]
    assert lease.written(B, 1, 9) == [Told(B, "revoked")]
    assert lease.written_seq == -1
    assert lease.written(B, 2, 9) == []


def test_a_lost_socket_keeps_the_lease_for_ten_minutes(lease: Lease, clock: Clock) -> None:
    lease.open(A)
    lease.lost(A)
    assert lease.lapses_in == LOST_SECONDS == 600
    clock.now += LOST_SECONDS - 0.1
    assert lease.lapse() == []
    assert not lease.free
    assert lease.open(B) == [Told(B, "held")]
    clock.now += 0.1
    assert lease.lapse() == [Told(B, "granted", reconcile=True)]
    assert lease.epoch == 2


def test_a_tab_that_comes_back_in_time_goes_on_in_its_epoch(lease: Lease, clock: Clock) -> None:
    lease.open(A)
    lease.lost(A)
    clock.now += 500
    lease.connected(A)
    assert lease.open(A) == [Told(A, "granted")]
    assert (lease.epoch, lease.lapses_in) == (1, None)
    clock.now += 10_000
    assert lease.lapse() == []


def test_a_tab_that_comes_back_too_late_begins_anew(lease: Lease, clock: Clock) -> None:
    lease.open(A)
    lease.lost(A)
    clock.now += LOST_SECONDS
    lease.connected(A)
    assert lease.open(A) == [Told(A, "revoked"), Told(A, "granted", reconcile=True)]
    assert lease.epoch >= 2


def test_an_old_socket_that_ends_after_its_successor_came_loses_nothing(lease: Lease) -> None:
    lease.open(A)
    lease.connected(A)
    lease.lost(A)
    assert lease.lapses_in is None


def test_a_lost_tab_that_only_showed_it_is_not_given_it(lease: Lease) -> None:
    lease.open(A)
    lease.open(B)
    lease.lost(B)
    assert lease.close(A) == []
    assert lease.free


def test_after_a_start_of_the_server_nobody_writes_what_was_leased_for_a_minute(clock: Clock) -> None:
    lease = Lease(clock, Kept(epoch=5, tab=A, written=12))
    lease.connected(B)
    assert not lease.free
    assert lease.open(B) == [Told(B, "held")]
    assert lease.lapses_in == START_SECONDS == 60
    clock.now += START_SECONDS
    assert lease.lapse() == [Told(B, "granted", reconcile=True)]
    assert lease.epoch == 6


def test_after_a_start_of_the_server_its_tab_goes_on(clock: Clock) -> None:
    lease = Lease(clock, Kept(epoch=5, tab=A, written=12))
    lease.connected(A)
    assert lease.open(A) == [Told(A, "granted")]
    assert (lease.epoch, lease.written_seq, lease.lapses_in) == (5, 12, None)


def test_after_a_start_of_the_server_a_person_can_go_on_elsewhere(clock: Clock) -> None:
    lease = Lease(clock, Kept(epoch=5, tab=A))
    lease.connected(B)
    lease.open(B)
    assert lease.take(B)[-1] == Told(B, "granted", reconcile=True)
    assert (lease.holder, lease.lapses_in) == (B, None)


def test_what_was_not_leased_is_free_after_a_start(clock: Clock) -> None:
    assert Lease(clock, Kept(epoch=5)).free


def test_what_is_kept_is_what_is_needed(lease: Lease) -> None:
    lease.open(A)
    lease.written(A, 1, 3)
    assert lease.kept == Kept(epoch=1, tab=A, written=3)
    lease.close(A)
    assert lease.kept.tab is None


actions = st.lists(
    st.tuples(
        st.sampled_from(["connect", "lost", "open", "take", "close", "wait", "written"]),
        st.sampled_from([A, B, C]),
        st.sampled_from([1.0, 59.0, 61.0, 601.0]),
    ),
    max_size=40,
)


@given(actions)
@settings(max_examples=200, deadline=None)
def test_whatever_happens_one_tab_at_most_believes_that_it_writes(steps: list[tuple[str, str, float]]) -> None:
    clock = Clock()
    lease = Lease(clock)
    believes: dict[str, int] = {}
    epochs = [lease.epoch]
    for what, tab, seconds in steps:
        told: list[Told] = []
        match what:
            case "connect":
                lease.connected(tab)
            case "lost":
                lease.lost(tab)
            case "open":
                told = lease.open(tab)
            case "take":
                told = lease.take(tab)
            case "close":
                told = lease.close(tab)
                believes.pop(tab, None)
            case "written":
                told = lease.written(tab, believes.get(tab, -1), 1)
            case "wait":
                clock.now += seconds
                told = lease.lapse()
        for one in told:
            if one.state == "granted":
                believes[one.tab] = lease.epoch
            else:
                believes.pop(one.tab, None)
        epochs.append(lease.epoch)
        current = [one for one, epoch in believes.items() if epoch == lease.epoch]
        assert len(current) <= 1
        assert all(one == lease.holder for one in current) or lease.free
    assert epochs == sorted(epochs)
