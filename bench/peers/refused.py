"""What a peer answers to a step that its library cannot do."""


class Refused(Exception):
    """One clause says why."""


def refuse_what_none_does(shape):
    if shape["sinks"]:
        raise Refused("sinks are not set up for peers")
    if shape["softcap"]:
        raise Refused("a softcap is not set up for peers")
    if shape["window_left"] >= 0:
        raise Refused("a window is not set up for peers")
    if shape["head_dim_qk"] != shape["head_dim_v"]:
        raise Refused("head dimensions of K and V that differ are not set up for peers")
